/** The place of a tracked root: its folder, or the one file in it that is tracked. What lies beside that file is outside. */
export function placeOfRoot({ folder, only }: { readonly folder: string; readonly only?: string }): string {
  return only === undefined ? folder : `${folder === "/" ? "" : folder}/${only}`;
}

/** Whether a path is a folder, or lies in it. */
export function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
