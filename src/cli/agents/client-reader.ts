import { parseTree } from "jsonc-parser";
import type { ConfigFile } from "./agent-config.ts";
import { type JsonDialect, jsonMisfit } from "./json-dialect.ts";
import { type Shape, shapeMisfit } from "./json-shape.ts";

/** The way a client reads one of its JSON files, and what it does with a file that it does not accept. */
export type ClientReader = Pick<ConfigFile, "otherwise" | "misfit">;

export function clientReader(otherwise: string, dialect: JsonDialect, shape?: Shape): ClientReader {
  return {
    otherwise,
    misfit: (text) => {
      const misfit = jsonMisfit(text, dialect);
      if (misfit !== undefined || shape === undefined) return misfit;
      const plain = text.replace(/^\uFEFF/, "");
      const root = parseTree(plain);
      return root === undefined ? undefined : shapeMisfit(plain, root, shape);
    },
  };
}
