import type { PruneOptions } from "../../../src/api/action-api.ts";

/** The rules of a prune, as a person types them. An empty text stands for a rule that is not given. */
export interface PruneRules {
  readonly last: string;
  readonly days: string;
  readonly daily: string;
  readonly isWithPins: boolean;
}

/** The value without any rule. The configured limits then apply. */
export const NO_RULES: PruneRules = { last: "", days: "", daily: "", isWithPins: false };

const DAY_MS = 86_400_000;

/** Returns the options of a prune; `undefined` if a given rule is not a whole number, or is negative. */
export function pruneOptions({ last, days, daily, isWithPins }: PruneRules): PruneOptions | undefined {
  const [keepLast, within, keepDaily] = [last, days, daily].map(numberOf);
  if ([keepLast, within, keepDaily].includes(null)) return undefined;
  return {
    ...(typeof keepLast === "number" ? { keepLast } : {}),
    ...(typeof within === "number" ? { keepWithinMs: within * DAY_MS } : {}),
    ...(typeof keepDaily === "number" ? { keepDaily } : {}),
    ...(isWithPins ? { keepPinned: false } : {}),
  };
}

/** Returns the number; `undefined` for an empty text, and `null` for any other text. */
function numberOf(text: string): number | undefined | null {
  if (text.trim() === "") return undefined;
  return /^\s*\d{1,6}\s*$/.test(text) ? Number(text) : null;
}
