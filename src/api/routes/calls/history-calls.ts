import type { ChangesOptions, RollbackOptions, Selection } from "../../action-api.ts";
import type { RecentOptions } from "../../recent-api.ts";
import type { TicksOptions } from "../../tick-api.ts";
import type {
  DiffOptions,
  FindOptions,
  LogOptions,
  RestoreOptions,
  SnapshotOptions,
  UndoOptions,
  UndoPart,
} from "../../workspace-api.ts";
import { defineCall, elsewhere, WORKSPACE } from "../row.ts";

export const status = defineCall({
  operation: "status",
  method: "GET",
  path: `${WORKSPACE}/status`,
  reply: { json: "StatusShape" },
  ask: () => ({}),
});

export const head = defineCall({
  operation: "head",
  method: "GET",
  path: `${WORKSPACE}/head`,
  reply: { json: "HeadShape" },
  ask: () => ({}),
});

export const signing = defineCall({
  operation: "signing",
  method: "GET",
  path: `${WORKSPACE}/signing`,
  reply: { json: "SigningShape" },
  ask: () => ({}),
});

export const recording = defineCall({
  operation: "recording",
  method: "GET",
  path: `${WORKSPACE}/recording`,
  reply: { json: "RecordingShape" },
  ask: () => ({}),
});

/** Reads events in pages, because a log may be long. */
export const log = defineCall({
  operation: "log",
  method: "GET",
  path: `${WORKSPACE}/log`,
  reply: { pageOf: "LogEventShape" },
  ask: ({ from, to, reverse, prefix, limit }: LogOptions = {}) => ({
    query: { from, to, reverse, prefix },
    most: limit,
  }),
});

export const listSnapshots = defineCall({
  operation: "listSnapshots",
  method: "GET",
  path: `${WORKSPACE}/snapshots`,
  reply: { pageOf: "SnapshotShape" },
  ask: () => ({}),
});

export const takeSnapshot = defineCall({
  operation: "takeSnapshot",
  method: "POST",
  path: `${WORKSPACE}/snapshots`,
  reply: { json: "SnapshotShape", status: 201 },
  ask: ({ message, name, pin, paranoid, acceptDeletions, onRecord }: SnapshotOptions = {}) => {
    if (acceptDeletions !== undefined) throw elsewhere("recording deletions in a replaced folder (`acceptDeletions`)");
    if (onRecord !== undefined) throw elsewhere("recording paths again that are off the record (`onRecord`)");
    return { body: { message, name, pin, paranoid } };
  },
});

export const capture = defineCall({
  operation: "capture",
  method: "POST",
  path: `${WORKSPACE}/captures`,
  reply: { json: "RecordShape" },
  ask: (paths: readonly string[]) => ({ body: { paths } }),
});

export const manifest = defineCall({
  operation: "manifest",
  method: "GET",
  path: `${WORKSPACE}/manifest`,
  reply: { json: "ManifestShape" },
  ask: (moment: string) => ({ query: { moment } }),
});

export const diff = defineCall({
  operation: "diff",
  method: "GET",
  path: `${WORKSPACE}/diff`,
  reply: { json: "DiffShape" },
  ask: (from: string, to: string, { paths, patch, renames }: DiffOptions = {}) => ({
    query: { from, to, path: paths, patch, renames },
    detailFields: ["renames"],
  }),
});

export const find = defineCall({
  operation: "find",
  method: "GET",
  path: `${WORKSPACE}/find`,
  reply: { pageOf: "FoundPath" },
  ask: (name: string, { part }: FindOptions = {}) => ({ query: { name, part } }),
});

export const explain = defineCall({
  operation: "explain",
  method: "GET",
  path: `${WORKSPACE}/explain`,
  reply: { json: "ExplainShape" },
  ask: (path: string) => ({ query: { path } }),
});

export const restore = defineCall({
  operation: "restore",
  method: "POST",
  path: `${WORKSPACE}/restore`,
  reply: { json: "RestoreShape" },
  ask: (moment: string, { paths, to, dryRun, keepMtime, force }: RestoreOptions = {}) => {
    if (to !== undefined) throw elsewhere("restoring into another folder (`to`)");
    return { body: { moment, paths, dry_run: dryRun, keep_mtime: keepMtime, force } };
  },
});

/**
 * Returns all fields of a selection. No field may be left out here: without it, an undo would undo more than was
 * requested.
 */
const selected = ({ action, turn, session, actor, file, since, to, until, rewind }: Selection) =>
  ({
    action,
    turn,
    session,
    actor,
    file,
    since,
    to,
    until,
    rewind,
  }) satisfies Readonly<Record<keyof Selection, unknown>>;

const partShape = ({ file, fromLine, toLine, hunk, seen }: UndoPart) => ({
  ...{ file, from_line: fromLine, to_line: toLine },
  ...{ hunk, seen },
});

const back = ({ operation, fromLine, toLine, parts, hunks, dryRun, force, exact, ...selection }: UndoOptions) => ({
  body: {
    ...selected(selection),
    ...{ operation, from_line: fromLine, to_line: toLine },
    ...{ parts: parts?.map(partShape), hunks, dry_run: dryRun, force, exact },
  },
});

export const undo = defineCall({
  operation: "undo",
  method: "POST",
  path: `${WORKSPACE}/undo`,
  reply: { json: "UndoShape" },
  ask: (options: UndoOptions = {}) => back(options),
});

export const redo = defineCall({
  operation: "redo",
  method: "POST",
  path: `${WORKSPACE}/redo`,
  reply: { json: "UndoShape" },
  ask: (options: UndoOptions = {}) => back(options),
});

export const listOperations = defineCall({
  operation: "listOperations",
  method: "GET",
  path: `${WORKSPACE}/operations`,
  reply: { pageOf: "OperationShape" },
  ask: () => ({}),
});

export const recent = defineCall({
  operation: "recent",
  method: "GET",
  path: `${WORKSPACE}/recent`,
  reply: { json: "RecentShape" },
  ask: (limit?: number, { atLeast, ...options }: RecentOptions = {}) => ({
    query: { limit, ...options, at_least: atLeast },
    detailFields: ["renames", "unrecorded", "at_least"],
  }),
});

export const ticks = defineCall({
  operation: "ticks",
  method: "GET",
  path: `${WORKSPACE}/ticks`,
  reply: { json: "TicksShape" },
  ask: ({ after, before, limit, reverse }: TicksOptions = {}) => ({ query: { after, before, limit, reverse } }),
});

export const changes = defineCall({
  operation: "changes",
  method: "GET",
  path: `${WORKSPACE}/changes`,
  reply: { json: "ChangesShape" },
  ask: (selection: Selection, { patch, renames }: ChangesOptions = {}) => ({
    query: { ...selected(selection), patch, renames },
    detailFields: ["renames"],
  }),
});

export const rollback = defineCall({
  operation: "rollback",
  method: "POST",
  path: `${WORKSPACE}/actions/{action}/rollback`,
  reply: { json: "RestoreShape" },
  ask: (action: string, { dryRun, force, outside }: RollbackOptions = {}) => ({
    params: { action },
    body: { dry_run: dryRun, force, outside },
  }),
});
