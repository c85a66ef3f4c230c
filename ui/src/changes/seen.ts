import { useState } from "react";

/** The paths that the person at this browser has marked as looked at. They are kept in the browser, not in the history. */
export function useSeen(
  workspace: string,
  work: string,
): { readonly paths: ReadonlySet<string>; toggle(path: string): void } {
  const key = `chronicle.seen ${workspace} ${work}`;
  const [paths, setPaths] = useState(() => read(key));
  return {
    paths,
    toggle: (path) => {
      const next = new Set(paths);
      if (!next.delete(path)) next.add(path);
      if (next.size === 0) localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify([...next]));
      setPaths(next);
    },
  };
}

function read(key: string): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return new Set(Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : []);
  } catch {
    return new Set();
  }
}
