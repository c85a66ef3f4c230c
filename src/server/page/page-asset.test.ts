import { expect, test } from "vitest";
import { chosenEncoding, contentTypeOf } from "./page-asset.ts";

test.each([
  ["br, gzip", [".br", ".gz"], "br"],
  ["gzip, deflate, br;q=0.5", [".br", ".gz"], "br"],
  ["GZIP", [".br", ".gz"], "gzip"],
  ["br", [".gz"], undefined],
  ["gzip, br;q=0", [".br", ".gz"], "gzip"],
  ["br; q=0.0, gzip; q=0", [".br", ".gz"], undefined],
  ["*", [".gz"], "gzip"],
  ["*;q=0", [".br", ".gz"], undefined],
  ["identity", [".br", ".gz"], undefined],
  ["", [".br", ".gz"], undefined],
  ["br;q=nonsense", [".br"], undefined],
])("the encoding for %o, if there are %o: %s", (accepted, made, name) => {
  expect(chosenEncoding(accepted, (suffix) => made.includes(suffix))?.name).toBe(name);
});

test.each([
  ["app-1a2b.js", "text/javascript; charset=utf-8"],
  ["app-1a2b.css", "text/css; charset=utf-8"],
  ["inter.woff2", "font/woff2"],
  ["app-1a2b.js.br", undefined],
  ["app.html", undefined],
  ["constructor", undefined],
  ["", undefined],
])("the content type of %s: %s", (name, type) => {
  expect(contentTypeOf(name)).toBe(type);
});
