// Finds a text in the lines of a log; lines that come later are searched when they come.

export class LogSearch {
  hits: number[] = [];
  private searched = 0;
  private lines: string[] | null = null;
  private readonly wanted: string;

  constructor(readonly query: string) {
    this.wanted = query.toLowerCase();
  }

  update(lines: string[]): void {
    if (this.lines !== lines) {
      this.lines = lines;
      this.searched = 0;
      this.hits = [];
    }
    if (this.wanted === '') return;
    for (; this.searched < lines.length; ++this.searched) {
      if (lines[this.searched]?.toLowerCase().includes(this.wanted))
        this.hits.push(this.searched);
    }
  }
}

// The parts of a text before, in and after each match, in turn.
export function cutAtMatches(text: string, query: string): string[] {
  if (query === '') return [text];
  const low = text.toLowerCase();
  const wanted = query.toLowerCase();
  const parts: string[] = [];
  let from = 0;
  for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts;
}
