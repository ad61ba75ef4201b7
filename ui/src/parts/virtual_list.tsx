// A list of lines of one height of which only those in view are in the page: 100,000 of them
// scroll as lightly as a hundred.
import type {JSX, RefObject} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';

const SPARE = 12; // lines above and below the view, for the next frame
const HEIGHT_MAX = 8_000_000; // px: browsers end an element's height at some 16 to 33 million

const READER_EVENTS = ['wheel', 'touchmove', 'keydown', 'pointerdown'];

export interface VirtualListProps {
  count: number;
  lineHeight: number;
  label: string;
  stickToEnd: boolean;
  onStickToEnd(stick: boolean): void;
  shown?: number | null; // brought into view when it changes
  render(index: number): JSX.Element;
}

export function VirtualList(props: VirtualListProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({top: 0, height: 600});
  const full = props.count * props.lineHeight;
  const height = Math.min(full, HEIGHT_MAX);
  // Beyond the highest element a pixel of scrolling stands for more than one pixel of lines.
  const scale = full > height ? (full - view.height) / (height - view.height) : 1;

  useScroll(box, setView, props);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && props.stickToEnd) element.scrollTop = element.scrollHeight;
  }, [props.count, props.stickToEnd, view.height]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || props.shown === null || props.shown === undefined) return;
    const middle = props.shown * props.lineHeight - element.clientHeight / 2;
    element.scrollTop = Math.max(0, middle / scale);
  }, [props.shown]);

  const offset = view.top * scale;
  const first = Math.max(0, Math.floor(offset / props.lineHeight) - SPARE);
  const last = Math.min(
    props.count,
    Math.ceil((offset + view.height) / props.lineHeight) + SPARE,
  );
  const lines: JSX.Element[] = [];
  for (let index = first; index < last; ++index) lines.push(props.render(index));
  const shift = first * props.lineHeight - offset + view.top;
  return (
    <div ref={box} class="virtual" tabIndex={0} role="log" aria-label={props.label}>
      <div class="virtual-all" style={{height: `${height}px`}}>
        <div class="virtual-lines" style={{transform: `translateY(${shift}px)`}}>
          {lines}
        </div>
      </div>
    </div>
  );
}

// Only the reader scrolls away from the end: lines that come, or a box that grows, move the view
// too.
function useScroll(
  box: RefObject<HTMLDivElement>,
  setView: (view: {top: number; height: number}) => void,
  props: VirtualListProps,
): void {
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let byReader = false;
    const measure = () => setView({top: element.scrollTop, height: element.clientHeight});
    const onScroll = () => {
      measure();
      if (!byReader) return;
      const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 4;
      if (isAtEnd !== latest.current.stickToEnd) latest.current.onStickToEnd(isAtEnd);
      if (isAtEnd) byReader = false;
    };
    const onReader = () => (byReader = true);
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener('scroll', onScroll, {passive: true});
    for (const kind of READER_EVENTS) element.addEventListener(kind, onReader, {passive: true});
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', onScroll);
      for (const kind of READER_EVENTS) element.removeEventListener(kind, onReader);
    };
  }, []);
}
