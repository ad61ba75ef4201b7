export function SubmitPage(): any {
  return null;
}
