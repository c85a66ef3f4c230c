import { ChronicleError } from "../core/values/errors.ts";
import { decodeOffRecord, encodeOffRecord, type OffRecord } from "../core/records/off-record.ts";
import type { Disk } from "../disk/disk.ts";
import { folderOf, writeFileDurably } from "../disk/write-fully.ts";
import { readDiskFile } from "../disk/read-disk-file.ts";
import type { OffRecordFile } from "../engine/log/context.ts";

/** The paths that were changed off the record, in one small file. Each write replaces the file. */
export class FileOffRecord implements OffRecordFile {
  readonly #disk: Disk;
  readonly #path: string;
  #last: { readonly text: string; readonly value: OffRecord } | undefined;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /**
   * Returns the noted paths, or `undefined` if there is no file. Returns the same object as long as the file is
   * unchanged. Throws `LOG_DAMAGED` if the file cannot be decoded.
   */
  read(): OffRecord | undefined {
    // Usually there is no file. For a missing file, `lstat` costs a tenth of `open`.
    if (this.#disk.lstat(this.#path) === undefined) return undefined;
    const text = readDiskFile(this.#disk, this.#path)?.toString("utf8");
    if (text === undefined) return undefined;
    if (this.#last?.text !== text) this.#last = { text, value: this.#decode(text) };
    return this.#last.value;
  }

  /** Returns the fault of the file, with a remedy; `undefined` if the file is missing or can be decoded. */
  fault(): string | undefined {
    try {
      this.read();
      return undefined;
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
      return `${error.message}; ${error.hint ?? ""}`;
    }
  }

  write(value: OffRecord | undefined): void {
    if (value !== undefined) return writeFileDurably(this.#disk, this.#path, Buffer.from(encodeOffRecord(value)));
    if (this.#disk.lstat(this.#path) === undefined) return;
    this.#disk.unlink(this.#path);
    this.#disk.syncFolder(folderOf(this.#path));
  }

  #decode(text: string): OffRecord {
    try {
      return decodeOffRecord(text);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ChronicleError("LOG_DAMAGED", `${this.#path} cannot be read: ${why}`, {
        hint: "remove this file: the files that were written off the record are then recorded as they are",
        cause: error,
      });
    }
  }
}
