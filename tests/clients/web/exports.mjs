// Files that other programs export.

/** A browser's export with `count` bookmarks, in three languages. */
export function netscape(count, name = 'import') {
  const words = ['Gardening in small pots', 'Заметки о садоводстве', '小さな鉢の園芸'];
  const lines = Array.from({ length: count }, (_, index) =>
    `<DT><A HREF="https://${name}.example/${index}" ADD_DATE="${1_790_000_000 + index * 60}">${words[index % 3]} ${index}</A>`);
  return `<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n${lines.join('\n')}\n<DT><A HREF="javascript:pwned=1">not an address</A>\n</DL><p>\n`;
}
