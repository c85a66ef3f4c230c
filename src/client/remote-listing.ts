import type { FileListShape, ListFilesOptions } from "../api/file-api.ts";
import { listFiles } from "../api/routes/calls/file-calls.ts";
import { MAX_PAGE } from "../api/routes/pages.ts";
import { addAll } from "../util/long-lists.ts";
import type { Caller } from "./caller.ts";

/** Returns a complete list of files, from as many pages as it takes, all of the same moment. */
export async function allFiles(caller: Caller, options: ListFilesOptions = {}): Promise<FileListShape> {
  const most = options.limit ?? Number.POSITIVE_INFINITY;
  let list = await caller.one(listFiles, { ...options, limit: Math.min(most, MAX_PAGE) });
  const { seq, files } = list;
  while (list.next !== null && files.length < most) {
    const limit = Math.min(most - files.length, MAX_PAGE);
    list = await caller.one(listFiles, { ...options, at: `seq:${seq}`, after: list.next, limit });
    addAll(files, list.files);
  }
  return { seq, files, next: list.next };
}
