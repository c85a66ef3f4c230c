import { ChronicleError } from "../core/values/errors.ts";
import type { Ingest, IngestRun } from "../engine/log/context.ts";

/** For a workspace without a folder: a scan of it finds nothing to read. */
export const NO_INGEST: Ingest = {
  begin: (): IngestRun => ({
    add: async (batch) => {
      if (batch.length > 0) throw new ChronicleError("IO", "a hosted workspace has no files on a disk to read");
    },
    finish: async () => undefined,
    abandon: async () => undefined,
  }),
};
