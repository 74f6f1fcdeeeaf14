/** Reads the trace id from a `traceparent` header, so that events can be found by trace. Source: W3C Trace Context, "traceparent Header". */

/** Hex digits: version 2 | trace id 32 | parent id 16 | flags 2. No id is all zeros. Later versions can have more after a dash. Version ff is invalid. */
const TRACE_PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a header; undefined if it is absent or malformed. A malformed header never fails a request. */
export function traceIdOf(header: string | undefined): string | undefined {
  const found = header === undefined ? null : TRACE_PARENT.exec(header)
  if (found === null || (found[1] === '00' && found[3] !== undefined)) return undefined
  return found[2]
}
