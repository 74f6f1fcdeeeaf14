/** Which addresses and limits `clamdScanner` accepts. */
import { expect, it } from 'vitest'
import { clamdScanner } from '../../../src/adapters/scanner/index.ts'
import { isVaultError } from '../../../src/index.ts'

/** Returns the code of the error of a constructor; undefined if it throws none. */
function codeFor(address: unknown, options?: unknown): string | undefined {
  try {
    Reflect.apply(clamdScanner, undefined, options === undefined ? [address] : [address, options])
    return undefined
  } catch (error) {
    return isVaultError(error) ? error.code : 'another error'
  }
}

it.each([
  [{ host: 'localhost', port: 3310 }, undefined],
  [{ host: '::1', port: 65_535 }, {}],
  [{ socket: '/run/clamav/clamd.ctl' }, { timeoutMs: 1, maxBytes: 1 }],
  [{ socket: 'relative' }, { timeoutMs: 2_147_483_647, maxBytes: 2_147_483_645 }],
])('accepts %j and %j', (address, options) => {
  expect(codeFor(address, options)).toBeUndefined()
})

it.each([
  [{}, undefined],
  [{ host: 'localhost' }, undefined],
  [{ port: 3310 }, undefined],
  [{ host: '', port: 3310 }, undefined],
  [{ host: 'localhost', port: '3310' }, undefined],
  [{ host: 'localhost', port: 0 }, undefined],
  [{ host: 'localhost', port: 65_536 }, undefined],
  [{ host: 'localhost', port: 3310.5 }, undefined],
  [{ socket: '' }, undefined],
  [{ socket: '/run/clamd', host: 'localhost', port: 3310 }, undefined],
  [{ socket: '/run/clamd' }, { timeoutMs: 0 }],
  [{ socket: '/run/clamd' }, { timeoutMs: 2_147_483_648 }],
  [{ socket: '/run/clamd' }, { timeoutMs: '1' }],
  [{ socket: '/run/clamd' }, { timeoutMs: Number.NaN }],
  [{ socket: '/run/clamd' }, { maxBytes: 0 }],
  [{ socket: '/run/clamd' }, { maxBytes: 2_147_483_646 }],
  [{ socket: '/run/clamd' }, { maxBytes: Number.POSITIVE_INFINITY }],
])('refuses %j and %j', (address, options) => {
  expect(codeFor(address, options)).toBe('invalid_request')
})
