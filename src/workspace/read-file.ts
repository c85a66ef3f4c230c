import type { FileApi, FileContent, ReadFileOptions } from "../api/file-api.ts";
import { ChronicleError } from "../core/errors.ts";
import type { Context } from "./context.ts";

/** A path's content at a moment. */
export async function openFile(_context: Context, _path: string, _options: ReadFileOptions): Promise<FileContent> {
  throw new ChronicleError("PLATFORM_UNSUPPORTED", "not built");
}

/** A content by its hash, if the workspace has or had it. */
export async function openBlob(_context: Context, _hash: string): ReturnType<FileApi["blob"]> {
  throw new ChronicleError("PLATFORM_UNSUPPORTED", "not built");
}
