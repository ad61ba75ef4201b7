// The server's messages begin in lower case, to stand behind a colon.

export function sentence(message: string): string {
  return message === '' ? '' : `${message[0]?.toUpperCase()}${message.slice(1)}`;
}
