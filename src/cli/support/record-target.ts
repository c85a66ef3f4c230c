import type { RecordStoreApi } from "../../api/record-api.ts";
import type { CommandContext } from "./context.ts";
import { writtenPath } from "./written-path.ts";
import { typedPath } from "../../process/user-path.ts";

/**
 * Calls `work` with the record store in the folder that `--folder` names. Without `--folder`, calls `work` with the
 * records of the workspace.
 */
export async function withRecords<T>(
  context: CommandContext,
  how: { readonly readOnly: boolean },
  work: (records: RecordStoreApi) => Promise<T>,
): Promise<T> {
  const { input, io } = context;
  const folder = input.text("folder");
  if (folder === undefined) return work((await context.workspace(how)).records);
  const wait = input.number("wait");
  const { openRecordStore } = await import("../../open.ts");
  await using store = await openRecordStore({
    folder: how.readOnly ? typedPath(() => io.cwd(), "--folder", folder) : writtenPath(context, "--folder", folder),
    ...how,
    ...(wait === undefined ? {} : { waitMs: wait * 1000 }),
  });
  for (const note of await store.notes()) context.note(note);
  return await work(store);
}
