/** The trace id inside a W3C Trace Context header, so that events are found from a trace. Source: W3C Trace Context, "traceparent Header". */

/** version 2 | trace id 32 | parent id 16 | flags 2, in hex digits; neither id all zeros. Later versions may go on behind a dash; version ff is none. */
const TRACE_PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** The trace id of a header, or undefined where there is none or it is malformed: a broken header never fails a request. */
export function traceIdOf(header: string | undefined): string | undefined {
  const found = header === undefined ? null : TRACE_PARENT.exec(header)
  if (found === null || (found[1] === '00' && found[3] !== undefined)) return undefined
  return found[2]
}
