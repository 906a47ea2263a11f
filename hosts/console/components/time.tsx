/** Times, in UTC or in the browser's time zone. */
import { signal } from "@preact/signals";
import { formatRelative, formatTime } from "./format.ts";

const STORED = "portside-console time zone";

/** True if the page shows times in UTC. */
export const showsUtc = signal(localStorage.getItem(STORED) === "utc");

export const toggleZone = (): void => {
  showsUtc.value = !showsUtc.value;
  localStorage.setItem(STORED, showsUtc.value ? "utc" : "local");
};

/** The name of the browser's time zone. */
export const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The current time, for relative times. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 10_000);

/** Shows how long ago a time is, with the exact time as its title. */
export const Ago = ({ time }: { readonly time: string }) => {
  const millis = Date.parse(time);
  return (
    <time dateTime={time} title={`${formatTime(millis, showsUtc.value)} ${showsUtc.value ? "UTC" : localZone}`}>
      {formatRelative(millis, Math.max(now.value, Date.now()))}
    </time>
  );
};

export const Time = ({ time }: { readonly time: string }) => (
  <time dateTime={time} title={time}>
    {formatTime(Date.parse(time), showsUtc.value)}
  </time>
);
