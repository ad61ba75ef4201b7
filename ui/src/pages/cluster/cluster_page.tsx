export function ClusterPage(): any {
  return null;
}
