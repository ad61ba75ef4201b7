// How the page is built, and served while it is developed.
import {defineConfig} from 'vite';

declare const process: {env: Record<string, string | undefined>};

// Where `npm run dev` finds an API: a server that runs.
const server = process.env['TRAINYARD_SERVER'] ?? 'http://127.0.0.1:8080';
const toServer = {
  target: server,
  // The server refuses changes that pages of other sites ask for; this page is its own.
  changeOrigin: true,
  headers: {origin: server},
};

export default defineConfig({
  base: './',
  esbuild: {jsx: 'automatic', jsxImportSource: 'preact'},
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // that know light-dark()
    modulePreload: false,
    assetsInlineLimit: 0, // the content security policy allows files, and little else
    reportCompressedSize: false,
    emptyOutDir: true,
  },
  server: {
    fs: {allow: ['..']}, // the templates are the repository's examples
    proxy: {
      '/v1': toServer,
      '/healthz': toServer,
      '/version': toServer,
      '/openapi.json': toServer,
    },
  },
});
