/** Block characters of one to seven eighths: https://www.unicode.org/charts/PDF/U2580.pdf */
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** @param share from 0 to 1; any share above 0 shows at least one eighth */
export const bar = (share: number, width: number): string => {
  const eighths = share <= 0 ? 0 : Math.max(1, Math.round(Math.min(share, 1) * width * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] as string);
};
