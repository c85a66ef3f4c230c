/** The last check of a history that somebody made in this browser. */
export interface LastCheck {
  /** ISO-8601. */
  readonly at: string;
  readonly problems: number;
  /** True if only the log was read. */
  readonly isQuick: boolean;
}

const KEY = "chronicle.checked ";

/** Keeps the result of a check in the browser, not in the history. The list of workspaces shows the result. */
export function keepCheck(workspace: string, check: LastCheck): void {
  localStorage.setItem(`${KEY}${workspace}`, JSON.stringify(check));
}

/** Returns the last check of a history; `undefined` if it was never checked in this browser. */
export function lastCheck(workspace: string): LastCheck | undefined {
  try {
    const kept = JSON.parse(localStorage.getItem(`${KEY}${workspace}`) ?? "null") as Partial<LastCheck> | null;
    const { at, problems, isQuick = false } = kept ?? {};
    if (typeof at !== "string" || Number.isNaN(Date.parse(at)) || typeof problems !== "number") return undefined;
    return { at, problems, isQuick: isQuick === true };
  } catch {
    return undefined;
  }
}
