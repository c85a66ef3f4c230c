import type {
  BlameOptions,
  EventsOptions,
  GrepOptions,
  HistoryOptions,
  ListFilesOptions,
  PutFileOptions,
  ReadFileOptions,
  TextHistoryOptions,
  WriteBy,
  WriteCondition,
} from "../../file-api.ts";
import { MAX_PAGE } from "../pages.ts";
import { defineCall, WORKSPACE } from "../row.ts";

const by = ({ actor, session }: WriteBy): { actor: string | undefined; session: string | undefined } => ({
  actor,
  session,
});

const given = ({ ifMatch, requestId }: WriteCondition & WriteBy) => ({ ifMatch, requestId });

export const listFiles = defineCall({
  operation: "listFiles",
  method: "GET",
  path: `${WORKSPACE}/files`,
  reply: { json: "FileListShape" },
  ask: ({ path, depth, at, limit, after }: ListFilesOptions & { readonly fresh?: boolean } = {}) => ({
    query: { path, depth, at, limit, after },
  }),
});

export const describeFile = defineCall({
  operation: "describeFile",
  method: "GET",
  path: `${WORKSPACE}/file`,
  reply: { json: "FileShape" },
  ask: (
    path: string,
    { at, iteration }: Pick<ReadFileOptions, "at"> & { readonly iteration?: number | "last" } = {},
  ) => ({
    query: { path, at, iteration },
  }),
});

export const readFile = defineCall({
  operation: "readFile",
  method: "GET",
  path: `${WORKSPACE}/files/{path}`,
  reply: { content: true },
  ask: (path: string, { at }: Pick<ReadFileOptions, "at"> = {}) => ({
    params: { path },
    query: { at, as: "content" as const },
  }),
});

export const fileAtIteration = defineCall({
  operation: "fileAtIteration",
  method: "GET",
  path: `${WORKSPACE}/files/{path}/at/{n}`,
  reply: { content: true },
  ask: (path: string, iteration: number | "last") => ({
    params: { path, n: String(iteration) },
    query: { as: "iteration" as const },
  }),
});

export const fileHistory = defineCall({
  operation: "fileHistory",
  method: "GET",
  path: `${WORKSPACE}/files/{path}/history`,
  reply: { pageOf: "IterationShape" },
  ask: (path: string, { after, limit, last, patch }: HistoryOptions = {}) => ({
    params: { path },
    query: { as: "history" as const, cursor: after === undefined ? undefined : String(after), last, patch },
    most: limit,
  }),
});

export const blame = defineCall({
  operation: "blame",
  method: "GET",
  path: `${WORKSPACE}/blame`,
  reply: { json: "BlameShape" },
  ask: (path: string, { at, fromLine, toLine }: BlameOptions = {}) => ({
    query: { path, at, from_line: fromLine, to_line: toLine },
  }),
});

export const textHistory = defineCall({
  operation: "textHistory",
  method: "GET",
  path: `${WORKSPACE}/text-history`,
  reply: { json: "TextHistoryShape" },
  // A limit above the maximum is lowered without an error: the answer says how many changes there are in all.
  ask: (text: string, { path, limit }: TextHistoryOptions = {}) => ({
    query: { text, path, limit: limit === undefined ? undefined : Math.min(limit, MAX_PAGE) },
  }),
});

export const grep = defineCall({
  operation: "grep",
  method: "GET",
  path: `${WORKSPACE}/grep`,
  reply: { json: "GrepShape" },
  // A limit above the maximum is lowered without an error: the answer says how many matches there are in all.
  ask: (pattern: string, { paths, at, history, ignoreCase, fixed, filesOnly, limit }: GrepOptions = {}) => ({
    query: {
      ...{ pattern, path: paths, at, history },
      ...{ ignore_case: ignoreCase, fixed, files_only: filesOnly },
      limit: limit === undefined ? undefined : Math.min(limit, MAX_PAGE),
    },
  }),
});

export const putFile = defineCall({
  operation: "putFile",
  method: "PUT",
  path: `${WORKSPACE}/files/{path}`,
  reply: { json: "FileWriteShape" },
  ask: (path: string, content: Uint8Array | AsyncIterable<Uint8Array>, options: PutFileOptions = {}) => ({
    params: { path },
    query: { permissions: options.permissions, kind: options.kind, ...by(options) },
    content,
    ...given(options),
  }),
});

export const makeFolder = defineCall({
  operation: "makeFolder",
  method: "PUT",
  path: `${WORKSPACE}/folders/{path}`,
  reply: { json: "FileWriteShape" },
  ask: (path: string, options: WriteBy & { readonly permissions?: number } = {}) => ({
    params: { path },
    query: { permissions: options.permissions, ...by(options) },
    ...given(options),
  }),
});

export const deleteFile = defineCall({
  operation: "deleteFile",
  method: "DELETE",
  path: `${WORKSPACE}/files/{path}`,
  reply: { json: "FileWriteShape" },
  ask: (path: string, options: WriteCondition & WriteBy = {}) => ({
    params: { path },
    query: by(options),
    ...given(options),
  }),
});

export const moveFile = defineCall({
  operation: "moveFile",
  method: "POST",
  path: `${WORKSPACE}/move`,
  reply: { json: "FileWriteShape" },
  ask: (from: string, to: string, options: WriteCondition & WriteBy & { readonly overwrite?: boolean } = {}) => ({
    body: { from, to, overwrite: options.overwrite, ...by(options) },
    ...given(options),
  }),
});

export const describeBlob = defineCall({
  operation: "describeBlob",
  method: "GET",
  path: `${WORKSPACE}/blob`,
  reply: { json: "BlobShape" },
  ask: (hash: string) => ({ query: { hash } }),
});

export const readBlob = defineCall({
  operation: "readBlob",
  method: "GET",
  path: `${WORKSPACE}/blobs/{hash}`,
  reply: { content: true },
  ask: (hash: string) => ({ params: { hash } }),
});

export const followEvents = defineCall({
  operation: "followEvents",
  method: "GET",
  path: `${WORKSPACE}/events`,
  reply: { events: "LogEventShape" },
  ask: ({ after, prefix, signal }: EventsOptions = {}) => ({ query: { prefix }, lastEventId: after, signal }),
});

export const followHead = defineCall({
  operation: "followHead",
  method: "GET",
  path: `${WORKSPACE}/head-changes`,
  reply: { events: "HeadChangeShape" },
  ask: ({ signal }: Pick<EventsOptions, "signal"> = {}) => ({ signal }),
});
