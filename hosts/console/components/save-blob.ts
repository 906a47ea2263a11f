/** Downloads a blob as a file. */
export const saveBlob = (blob: Blob, name: string): void => {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // By then, the browser has started to read the blob.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};
