import type { Entry } from "../values/entry.ts";
import { parentOf, type WorkspacePath } from "../values/path.ts";

/** A file that an editor or a desktop makes for its own use. */
interface EditorFile {
  /**
   * The file that it belongs to: it counts as an editor's file only while that one exists. `undefined`: it always does.
   */
  readonly beside: WorkspacePath | undefined;
}

/**
 * One form of editors' files. The first group of `name`, if there is one, is the name of the file that the editor's
 * file belongs to.
 */
interface Form {
  readonly name: RegExp;
  readonly kind?: Entry["kind"];
  /** True if a file of this size can be an editor's file. Default: any size. */
  readonly size?: (bytes: number) => boolean;
  /** True if a file of this size is an editor's file even without the file that it belongs to. */
  readonly alone?: (bytes: number) => boolean;
}

const atMost =
  (most: number) =>
  (bytes: number): boolean =>
    bytes <= most;

/** The most bytes of a lock, which names its holder and contains no work. */
const LOCK_BYTES = 1_024;
const ATTRIBUTES_BYTES = 1_048_576;

const FORMS: readonly Form[] = [
  // Backups: Emacs, Vim, gedit, joe, Kate; numbered ones of Emacs.
  { name: /^(.+)\.~\d+~$/s },
  { name: /^(.+)~$/s },
  // Swap files of Vim: pages of 4 KiB. The edited file may never have been saved.
  { name: /^\.(.+)\.sw[a-p]$/s, alone: (bytes) => bytes > 0 && bytes % 4_096 === 0 },
  { name: /^\.sw[a-p]$/, size: (bytes) => bytes > 0 && bytes % 4_096 === 0 },
  { name: /^\.(.+)\.kate-swp$/s },
  // Emacs: auto-saves, and locks, which are links to `user@host.pid`.
  { name: /^#(.+)#$/s },
  { name: /^\.#.+$/s, kind: "symlink", size: atMost(LOCK_BYTES) },
  { name: /^\.#(.+)$/s, size: atMost(LOCK_BYTES) },
  // JetBrains, GLib.
  { name: /^.+___jb_(?:tmp|old)___$/s },
  { name: /^\.goutputstream-[0-9A-Z]{6}$/ },
  // Locks of LibreOffice and Microsoft Office.
  { name: /^\.~lock\..+#$/s, size: atMost(LOCK_BYTES) },
  { name: /^~\$.+$/s, size: atMost(LOCK_BYTES) },
  // Desktops: macOS (blocks of 2 KiB after 4 bytes; attributes of the file beside), Windows (sectors of 512 bytes).
  { name: /^\.DS_Store$/, size: (bytes) => bytes > 2_048 && bytes % 2_048 === 4 },
  { name: /^\._(.+)$/s, size: atMost(ATTRIBUTES_BYTES) },
  { name: /^Thumbs\.db$/, size: (bytes) => bytes >= 1_536 && bytes % 512 === 0 },
  // Names that a file system gives to files that were removed while open.
  { name: /^\.nfs[0-9a-f]{24}$/ },
  { name: /^\.fuse_hidden[0-9a-f]{16,24}$/ },
  // Unfinished downloads of Chromium.
  { name: /^.+\.crdownload$/s },
];

/** True if editors give names of this form to files of their own. Ignores kind and size. */
export function isEditorName(path: WorkspacePath): boolean {
  const name = nameOf(path);
  return FORMS.some((form) => form.name.test(name));
}

/**
 * Recognises a file that editors and desktops make temporarily or for their own use, by its kind, name and size.
 * Returns `undefined` for any other. The caller must check that `beside` exists. Folders never count, whatever their
 * names.
 */
export function editorFile({ path, kind, size }: Pick<Entry, "path" | "kind" | "size">): EditorFile | undefined {
  const name = nameOf(path);
  for (const form of FORMS) {
    const match = form.name.exec(name);
    if (match === null || kind !== (form.kind ?? "file") || form.size?.(size) === false) continue;
    const other = form.alone?.(size) === true ? undefined : match[1];
    const folder = parentOf(path);
    const beside = other === undefined ? undefined : ((folder === "" ? other : `${folder}/${other}`) as WorkspacePath);
    return { beside };
  }
  return undefined;
}

function nameOf(path: WorkspacePath): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
