import { defineConfig } from "vite";

/** The build of the page: `ui/` becomes `dist/ui/`, with names that change with the contents. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  publicDir: false,
  build: {
    outDir: "../dist/ui",
    emptyOutDir: true,
    target: "es2024",
    modulePreload: { polyfill: false },
    // A file within a page's address would need a weaker policy for its contents.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // Packages mark files for React servers. The page has no such server.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
    chunkSizeWarningLimit: 700,
  },
  // The page is tried beside a server that is started by hand: `chronicle serve --port 7420`.
  server: { port: 7421, proxy: { "/v1": "http://127.0.0.1:7420", "/page": "http://127.0.0.1:7420" } },
});
