// A model, drawn from its inputs down: what each layer reads, gives and holds. Layers of one block
// fold into a row.
import type {JSX} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';

import type {ModelAnalysis} from '../api/types';
import {plural} from '../format/numbers';
import {ModelHead} from './model_head';
import {ModelRow} from './model_row';
import {ModelTerms} from './model_terms';
import {allGroups, groupsAround, treeOf} from './model_tree';
import {type Row, rowsOf, wiresOf} from './model_wires';

const FEW = 30; // layers, of which none need be folded

export function ModelView({model}: {model: ModelAnalysis}): JSX.Element {
  return (
    <div class="model">
      <ModelHead model={model} />
      <ModelLayers model={model} />
    </div>
  );
}

export function ModelLayers({model}: {model: ModelAnalysis}): JSX.Element {
  const {layers} = model;
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null); // open groups
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set()); // layers with details
  const [wanted, setWanted] = useState<string | null>(null); // the layer to go to
  const list = useRef<HTMLOListElement>(null);
  const tree = useMemo(() => treeOf(layers), [layers]);
  const groups = useMemo(() => allGroups(tree).map(({path}) => path), [tree]);
  const open = useMemo(
    () => chosen ?? new Set(layers.length <= FEW ? groups : []),
    [chosen, layers, groups],
  );
  const rows = useMemo(() => rowsOf(tree, open), [tree, open]);
  const {wires, lanes} = useMemo(() => wiresOf(rows, layers), [rows, layers]);
  useEffect(() => {
    if (wanted === null) return;
    const button = list.current?.querySelector<HTMLElement>(
      `[data-layer="${CSS.escape(wanted)}"]`,
    );
    button?.focus();
    button?.scrollIntoView({block: 'nearest'});
    setWanted(null);
  }, [wanted]);

  const toggle = ({node}: Row) =>
    node.kind === 'group'
      ? setChosen(toggled(open, node.path))
      : setShown(toggled(shown, node.layer.name));
  const jump = (position: number) => {
    const around = groupsAround(tree, position).map(({path}) => path);
    setChosen(new Set([...open, ...around]));
    setWanted(layers[position]?.name ?? null);
  };
  return (
    <section class="model-drawing" aria-label="Layers">
      <div class="model-tools">
        <h3>{plural(layers.length, 'layer')}</h3>
        {groups.length > 0 && (
          <>
            <button type="button" class="quiet" onClick={() => setChosen(new Set(groups))}>
              Open all
            </button>
            <button type="button" class="quiet" onClick={() => setChosen(new Set())}>
              Fold all
            </button>
          </>
        )}
        <span class="model-columns" aria-hidden="true">
          <span class="model-shape">output</span>
          <span class="model-count">parameters</span>
          <span class="model-share">share</span>
        </span>
      </div>
      <ol ref={list} class="model-layers" style={{'--lanes': lanes}} onKeyDown={onArrow}>
        {rows.map((row, at) => (
          <ModelRow
            key={row.node.kind === 'group' ? `${row.node.path}/` : row.node.layer.name}
            row={row}
            wires={wires[at] ?? NO_WIRES}
            layers={layers}
            total={model.parameters}
            isShown={row.node.kind === 'layer' && shown.has(row.node.layer.name)}
            onToggle={toggle}
            onJump={jump}
          />
        ))}
      </ol>
      <ModelTerms model={model} />
    </section>
  );
}

const NO_WIRES = {isReadingAbove: false, isReadBelow: false, pieces: [], others: []};

function toggled(set: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}

// Up and down go from row to row; right opens one, left folds it.
function onArrow(event: KeyboardEvent): void {
  const button = event.target as HTMLElement;
  if (!button.classList.contains('model-row-button')) return;
  const isOpen = button.getAttribute('aria-expanded') === 'true';
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step !== 0) {
    const list = event.currentTarget as HTMLElement;
    const all = [...list.querySelectorAll<HTMLElement>('.model-row-button')];
    all[all.indexOf(button) + step]?.focus();
  } else if (event.key === (isOpen ? 'ArrowLeft' : 'ArrowRight')) {
    button.click();
  } else {
    return;
  }
  event.preventDefault();
}
