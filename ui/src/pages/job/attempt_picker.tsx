// Which attempt of a job is shown. Nothing where there was only one.
import type {JSX} from 'preact';

interface AttemptPickerProps {
  count: number;
  value: number;
  onPick(attempt: number): void;
}

export function AttemptPicker({count, value, onPick}: AttemptPickerProps): JSX.Element | null {
  if (count < 2) return null;
  return (
    <label class="check">
      Attempt
      <select value={value} onChange={(event) => onPick(Number(event.currentTarget.value))}>
        {Array.from({length: count}, (_, index) => count - index).map((attempt) => (
          <option key={attempt} value={attempt}>
            {attempt === count ? `${attempt}, the newest` : attempt}
          </option>
        ))}
      </select>
    </label>
  );
}
