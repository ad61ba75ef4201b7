// A chart as a picture for a document: with its title and legend, which the page has outside of
// it.
import type uPlot from 'uplot';

import {resolveColor} from './colors';
import type {Curve} from './curve';

const HEAD = 34; // px above the plot

export async function chartPng(plot: uPlot, title: string, curves: Curve[]): Promise<Blob> {
  const ratio = devicePixelRatio;
  const source = plot.ctx.canvas;
  const canvas = document.createElement('canvas');
  canvas.width = source.width;
  canvas.height = source.height + HEAD * ratio;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser draws no pictures');
  context.fillStyle = resolveColor('--panel');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, HEAD * ratio);
  context.scale(ratio, ratio);
  context.textBaseline = 'middle';
  context.font = '600 13px system-ui, sans-serif';
  context.fillStyle = resolveColor('--ink');
  context.fillText(title, 12, HEAD / 2);
  let x = 24 + context.measureText(title).width;
  context.font = '12px system-ui, sans-serif';
  for (const curve of curves.filter((one) => !one.isFaint)) {
    context.strokeStyle = resolveColor(curve.color);
    context.lineWidth = 2;
    context.setLineDash(curve.isDashed ? [4, 3] : []);
    context.beginPath();
    context.moveTo(x, HEAD / 2);
    context.lineTo(x + 16, HEAD / 2);
    context.stroke();
    context.fillText(curve.label, x + 20, HEAD / 2);
    x += 36 + context.measureText(curve.label).width;
  }
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) =>
      blob ? resolve(blob) : reject(new Error('the browser made no picture')),
    ),
  );
}
