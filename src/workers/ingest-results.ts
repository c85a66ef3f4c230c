import { linkEntry } from "../engine/capture/read-disk.ts";
import type { IngestResult } from "../engine/log/context.ts";
import { hashFromBytes } from "../core/values/hash.ts";
import { splitRoot } from "../core/values/path.ts";
import type { ScannedPath, TrackedRoot } from "../worktree/worktree.ts";
import { OUTCOME, statOfRow, type IngestBatch, type IngestColumns } from "./ingest-job.ts";

/** Returns the columns to send for some scanned paths. */
export function toBatch(roots: readonly TrackedRoot[], scanned: readonly ScannedPath[]): IngestBatch {
  const targets = new Map<number, Uint8Array>();
  const paths: string[] = [];
  const rootNumbers: number[] = [];
  scanned.forEach((one, i) => {
    const { root, path } = splitRoot(one.path);
    rootNumbers.push(roots.findIndex((tracked) => tracked.id === root));
    paths.push(path);
    if (one.stat.kind === "symlink") targets.set(i, one.target ?? new Uint8Array());
  });
  return { roots: rootNumbers, paths, targets };
}

/** Converts the returned columns to the results for these paths. */
export function toResults(scanned: readonly ScannedPath[], columns: IngestColumns): IngestResult[] {
  return scanned.map((one, i) => toResult(one, i, columns));
}

function toResult(one: ScannedPath, row: number, columns: IngestColumns): IngestResult {
  const { path } = one;
  if (one.stat.kind === "symlink") {
    return { path, entry: linkEntry(path, one.stat, one.target ?? new Uint8Array()), stat: one.stat, unstable: false };
  }
  const outcome = columns.outcome[row];
  if (outcome === OUTCOME.gone) return { path, gone: true };
  if (outcome === OUTCOME.unreadable) {
    return { path, omission: { path, reason: "unreadable", detail: columns.details.get(row) ?? "" } };
  }
  if (outcome === OUTCOME.other) {
    return { path, omission: { path, reason: "unstable", detail: "it became something else than a file meanwhile" } };
  }
  const stat = statOfRow(columns, row, one.stat);
  const hash = hashFromBytes(columns.hashes.subarray(row * 32, row * 32 + 32));
  const mtimeMs = Number(stat.mtimeNs / 1_000_000n);
  const entry = { path, kind: "file" as const, mode: stat.mode, size: columns.sizes[row] ?? 0, mtimeMs, hash };
  const isDatabase = outcome === OUTCOME.database || outcome === OUTCOME.unstableDatabase;
  const unstable = outcome === OUTCOME.unstable || outcome === OUTCOME.unstableDatabase;
  return { path, entry, stat, unstable, ...(isDatabase ? { isDatabase } : {}) };
}
