import type { FileWriteShape, PutFileOptions, WriteBy, WriteCondition } from "../api/file-api.ts";
import { ChronicleError } from "../core/errors.ts";
import type { Context } from "./context.ts";
import type { Turns } from "./turns.ts";

/** One write that somebody asked for. */
export type FileWrite =
  | {
      readonly kind: "put";
      readonly path: string;
      readonly content: Uint8Array | AsyncIterable<Uint8Array>;
      readonly options: PutFileOptions;
    }
  | { readonly kind: "folder"; readonly path: string; readonly options: WriteBy & { readonly permissions?: number } }
  | { readonly kind: "delete"; readonly path: string; readonly options: WriteCondition & WriteBy }
  | {
      readonly kind: "move";
      readonly path: string;
      readonly to: string;
      readonly options: WriteCondition & WriteBy & { readonly overwrite?: boolean };
    };

/** Who writes, where the write itself does not say. */
export interface Writer {
  readonly actor: string;
  readonly client?: string;
}

/** Writes to files: those that come while others are being made durable go together in the next commit. */
export class WriteQueue {
  readonly #context: Context;
  readonly #turns: Turns;

  constructor(context: Context, turns: Turns) {
    this.#context = context;
    this.#turns = turns;
  }

  /** Resolves when it is durable. */
  write(_write: FileWrite, _writer: Writer): Promise<FileWriteShape> {
    return this.#turns.change(() =>
      Promise.reject(new ChronicleError("PLATFORM_UNSUPPORTED", `not built: ${this.#context.workspaceId}`)),
    );
  }
}
