import type { PutFileOptions, WriteBy, WriteCondition } from "../../api/file-api.ts";

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
