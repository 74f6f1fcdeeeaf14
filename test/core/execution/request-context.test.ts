/** Trace ids of untrusted headers. */
import { expect, it } from 'vitest'
import { traceIdOf } from '../../../src/core/execution/event-builder.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

it.each([
  ['of version 00', `00-${TRACE}-00f067aa0ba902b7-01`],
  ['of a later version', `01-${TRACE}-00f067aa0ba902b7-01`],
  ['of a later version with more parts', `cc-${TRACE}-00f067aa0ba902b7-01-what-the-future-will-be-like`],
])('returns the trace id of a header %s', (_what, header) => {
  expect(traceIdOf(header)).toBe(TRACE)
})

it.each([
  ['that is not there', undefined],
  ['that is empty', ''],
  ['of version ff', `ff-${TRACE}-00f067aa0ba902b7-01`],
  ['of version 00 with more behind', `00-${TRACE}-00f067aa0ba902b7-01-more`],
  ['of a later version with more that is not set off', `01-${TRACE}-00f067aa0ba902b7-01more`],
  ['with a trace of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
  ['with a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['in capitals', `00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`],
  ['that is too short', `00-${TRACE.slice(1)}-00f067aa0ba902b7-01`],
  ['with a line more', `00-${TRACE}-00f067aa0ba902b7-01\n`],
])('returns undefined for a header %s', (_what, header) => {
  expect(traceIdOf(header)).toBeUndefined()
})
