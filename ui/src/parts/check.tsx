// A checkbox with its words.
import type {ComponentChildren, JSX} from 'preact';

interface CheckProps {
  isOn: boolean;
  onChange(isOn: boolean): void;
  children: ComponentChildren;
}

export function Check({isOn, onChange, children}: CheckProps): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {children}
    </label>
  );
}
