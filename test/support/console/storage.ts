/** A browser's `localStorage`, in memory. */
export const memoryStorage = (isFull: () => boolean = () => false): Storage => {
  const items = new Map<string, string>();
  return {
    get length() {
      return items.size;
    },
    clear: () => items.clear(),
    key: (index) => [...items.keys()][index] ?? null,
    getItem: (key) => items.get(key) ?? null,
    removeItem: (key) => void items.delete(key),
    setItem: (key, value) => {
      if (isFull()) throw new DOMException("full", "QuotaExceededError");
      items.set(key, value);
    },
  };
};
