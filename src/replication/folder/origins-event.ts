import { decodeFile, isOriginsState, pathOfRecordId } from "../../core/file-record.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { HistoryContext } from "../../workspace/context.ts";
import { isInBase } from "../../workspace/read-base.ts";
import { readEvent } from "../../workspace/read-events.ts";

/** Tells the origin's event whose state of a path came into the folder with an own event. `undefined`: none did, or it stands in a base. */
export function originsEventOf(context: HistoryContext) {
  return async (path: WorkspacePath, ownSeq: number): Promise<number | undefined> => {
    const row = await context.index.locate(ownSeq);
    if (row === undefined || isInBase(row) || pathOfRecordId(row.recordId) !== path) return undefined;
    const file = decodeFile(path, (await readEvent(context, row)).record);
    return isOriginsState(file) ? file.upstream?.seq : undefined;
  };
}
