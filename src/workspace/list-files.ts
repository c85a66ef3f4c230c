import type { FileListShape, ListFilesOptions } from "../api/file-api.ts";
import { ChronicleError } from "../core/errors.ts";
import type { Context } from "./context.ts";

/** The paths of a moment. */
export async function listFiles(_context: Context, _options: ListFilesOptions): Promise<FileListShape> {
  throw new ChronicleError("PLATFORM_UNSUPPORTED", "not built");
}
