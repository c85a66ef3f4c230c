import { ChronicleError } from "../../core/values/errors.ts";

/** What a virtual path asks of a real one. */
export type VirtualPath =
  | { readonly kind: "history"; readonly path: string }
  | { readonly kind: "iteration"; readonly path: string; readonly iteration: number | "last" };

/**
 * The virtual paths, under which clients that only know how to read files find the past: `.chronicle/query/<path>` is the
 * history of a path as JSON, `.chronicle/at/<n>/<path>` its content at iteration n (or `last`). Only these two exact forms
 * are virtual, at the root of a workspace; anything else in a folder `.chronicle` is a file like any other.
 */
export function virtualPath(given: string): VirtualPath | undefined {
  const asked = /^\.chronicle\/query\/(.+)$/s.exec(given)?.[1];
  if (asked !== undefined) return { kind: "history", path: asked };
  const [, n, path] = /^\.chronicle\/at\/([1-9]\d{0,14}|last)\/(.+)$/s.exec(given) ?? [];
  if (n === undefined || path === undefined) return undefined;
  return { kind: "iteration", path, iteration: n === "last" ? n : Number(n) };
}

/** The path, if something may be written there: behind a virtual one nobody would find it again. Throws `REFUSED`. */
export function refuseVirtual(path: string): string {
  if (virtualPath(path) === undefined) return path;
  throw new ChronicleError("REFUSED", `${path} is where the past is read: nothing is written there`, {
    hint: "choose another name",
    data: { path },
  });
}
