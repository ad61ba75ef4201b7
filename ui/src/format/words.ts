// The server's messages begin in lower case, to stand behind a colon. The name of a task that one
// begins with stays as it is.

const TASK = /^(ps|worker)\/\d/;

export function sentence(message: string): string {
  if (message === '' || TASK.test(message)) return message;
  return `${message[0]?.toUpperCase()}${message.slice(1)}`;
}
