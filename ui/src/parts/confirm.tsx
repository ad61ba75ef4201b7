// Asks before something that cannot be taken back. One dialog for the whole page.
import {signal} from '@preact/signals';
import type {JSX} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

interface Question {
  title: string;
  text: string;
  yes: string;
  answer(isYes: boolean): void;
}

const asked = signal<Question | null>(null);

export function confirm(question: Omit<Question, 'answer'>): Promise<boolean> {
  return new Promise((resolve) => {
    asked.value = {...question, answer: resolve};
  });
}

export function ConfirmDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const question = asked.value;
  useEffect(() => {
    if (question) dialog.current?.showModal();
    else dialog.current?.close();
  }, [question]);
  const close = (isYes: boolean) => {
    question?.answer(isYes);
    asked.value = null;
  };
  return (
    <dialog
      ref={dialog}
      class="confirm"
      aria-labelledby="confirm-title"
      onCancel={(event) => (event.preventDefault(), close(false))}
    >
      <h2 id="confirm-title">{question?.title}</h2>
      <p>{question?.text}</p>
      <div class="buttons">
        <button type="button" onClick={() => close(false)}>
          Go back
        </button>
        <button type="button" class="danger" onClick={() => close(true)}>
          {question?.yes}
        </button>
      </div>
    </dialog>
  );
}
