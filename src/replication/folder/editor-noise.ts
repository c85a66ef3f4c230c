const EDITORS = `
  .*.sw[a-p] *.swp *.swo *~ \\#*# .#* *.kate-swp .goutputstream-* *___jb_tmp___ *___jb_old___
  .~lock.*# ~$*`;

const SYSTEMS = `.DS_Store ._* Thumbs.db desktop.ini .directory .nfs[0-9a-f]* .fuse_hidden* *.crdownload`;

/**
 * Files that editors, desktops and browsers leave for a moment or for themselves: swap files, backups, locks, names under
 * which a file is written before it gets its own. They are nobody's work, and are not written back; a pattern with `!`
 * lets them through. No name is among them that a person might give.
 */
export const EDITOR_NOISE: readonly string[] = [EDITORS, SYSTEMS].flatMap((patterns) => patterns.trim().split(/\s+/));
