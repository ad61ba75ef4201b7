// Colours for what is drawn on a canvas, which knows no custom properties.

export const CURVE_COLORS = [
  '--curve-1',
  '--curve-2',
  '--curve-3',
  '--curve-4',
  '--curve-5',
  '--curve-6',
  '--curve-7',
  '--curve-8',
];

export function curveColor(index: number): string {
  return CURVE_COLORS[index % CURVE_COLORS.length] as string;
}

// The colour that a custom property stands for now, in the theme that is shown.
export function resolveColor(property: string, share = 1): string {
  const probe = document.createElement('span');
  probe.style.color =
    share === 1
      ? `var(${property})`
      : `color-mix(in srgb, var(${property}) ${share * 100}%, transparent)`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
