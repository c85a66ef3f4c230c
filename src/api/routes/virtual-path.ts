import { ChronicleError } from "../../core/values/errors.ts";

/** The request about a real path that a virtual path stands for. */
export type VirtualPath =
  | { readonly kind: "history"; readonly path: string }
  | { readonly kind: "iteration"; readonly path: string; readonly iteration: number | "last" };

/**
 * Parses a virtual path. Clients that can only read files find the past there: `.chronicle/query/<path>` is the history
 * of a path as JSON, `.chronicle/at/<n>/<path>` its content at iteration n (or `last`). Only these two exact forms at
 * the root of a workspace are virtual; anything else in a folder `.chronicle` is an ordinary file.
 */
export function virtualPath(given: string): VirtualPath | undefined {
  const asked = /^\.chronicle\/query\/(.+)$/s.exec(given)?.[1];
  if (asked !== undefined) return { kind: "history", path: asked };
  const [, n, path] = /^\.chronicle\/at\/([1-9]\d{0,14}|last)\/(.+)$/s.exec(given) ?? [];
  if (n === undefined || path === undefined) return undefined;
  return { kind: "iteration", path, iteration: n === "last" ? n : Number(n) };
}

/**
 * Returns the path if it may be written. Throws `REFUSED` for a virtual path, behind which nobody would find the file
 * again.
 */
export function refuseVirtual(path: string): string {
  if (virtualPath(path) === undefined) return path;
  throw new ChronicleError("REFUSED", `${path} is where the past is read: nothing is written there`, {
    hint: "choose another name",
    data: { path },
  });
}
