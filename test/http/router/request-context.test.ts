/** What events record of a request, and that hostile headers do not get there. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createRequestContext } from '../../../src/http/router/request-context.ts'
import { requestFrom } from '../../support/credentials/http-request.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const contextOf = createRequestContext()
const withHeader = (name: string, value: string) => contextOf(requestFrom('192.0.2.1', { [name]: value }))

describe('a request', () => {
  it('without headers has a generated id and the address of its connection', () => {
    const first = contextOf(requestFrom('192.0.2.1'))
    expect(first).toEqual({ requestID: expect.stringMatching(/^[0-9a-f-]{36}$/), ipAddress: '192.0.2.1' })
    expect(contextOf(requestFrom('192.0.2.1')).requestID).not.toBe(first.requestID)
  })

  it('with well-formed headers has all members', () => {
    const headers = {
      'x-request-id': UUID,
      traceparent: TRACEPARENT,
      'x-client-trace-id': 'order-7/retry#2',
      origin: 'https://app.acme.example:8443',
    }
    expect(contextOf(requestFrom('::ffff:192.0.2.1', headers))).toEqual({
      requestID: UUID,
      traceparent: TRACEPARENT,
      clientTraceID: 'order-7/retry#2',
      origin: 'https://app.acme.example:8443',
      ipAddress: '192.0.2.1',
    })
  })

  it.each([
    ['x-request-id', UUID.toUpperCase(), 'requestID'],
    ['x-client-trace-id', 'x'.repeat(128), 'clientTraceID'],
    ['origin', 'null', 'origin'],
    ['origin', 'chrome-extension://abcdef', 'origin'],
    ['origin', 'http://[2001:db8::1]:80', 'origin'],
    ['origin', `https://${'a'.repeat(992)}`, 'origin'],
  ] as const)('with %s: %s has it', (name, value, member) => {
    expect(withHeader(name, value)[member]).toBe(value)
  })

  it.each([
    ['x-request-id', 'short'],
    ['x-request-id', `${UUID}0`],
    ['x-request-id', `${UUID}, ${UUID}`],
    ['x-request-id', UUID.replaceAll('-', '0')],
    ['x-request-id', `${UUID.slice(0, -1)}\n`],
    ['x-request-id', `${UUID.slice(0, -1)}g`],
  ])('with %s: %j has a generated id', (name, value) => {
    const { requestID } = withHeader(name, value)
    expect(requestID).not.toBe(value)
    expect(requestID).toHaveLength(36)
  })

  it.each([
    ['traceparent', TRACEPARENT.toUpperCase()],
    ['traceparent', TRACEPARENT.replace('00-', 'ff-')],
    ['traceparent', `${TRACEPARENT}-x`],
    ['traceparent', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['traceparent', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
    ['traceparent', `${TRACEPARENT}, ${TRACEPARENT}`],
    ['x-client-trace-id', ''],
    ['x-client-trace-id', 'x'.repeat(129)],
    ['x-client-trace-id', 'a b'],
    ['x-client-trace-id', 'a, b'],
    ['x-client-trace-id', 'a\u001b[31m'],
    ['x-client-trace-id', 'é'],
    ['origin', ''],
    ['origin', 'acme.example'],
    ['origin', 'https://acme.example/path'],
    ['origin', 'https://user:TEST_SECRET@acme.example'],
    ['origin', 'https://a.example, https://b.example'],
    ['origin', 'https://a.example\n'],
    ['origin', 'nullx'],
    ['origin', `https://${'a'.repeat(993)}`],
  ])('with %s: %j is as without it', (name, value) => {
    expect(withHeader(name, value)).toEqual({ requestID: expect.any(String), ipAddress: '192.0.2.1' })
  })

  it('with any headers from any address makes an event', async () => {
    const vault = await openPeople(memoryStorage())
    const behindProxies = createRequestContext({ trustedProxies: 2 })
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 1500 }),
      fc.constantFrom(UUID, TRACEPARENT, 'null', '::1', 'for=::1'),
    )
    const names = fc.constantFrom('x-request-id', 'traceparent', 'x-client-trace-id', 'origin', 'x-forwarded-for', 'forwarded')
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, value), value, async (headers, address) => {
        const request = behindProxies(requestFrom(address, headers))
        for (const text of Object.values(request)) expect(text).toMatch(/^[\x21-\x7e]{1,1000}$/)
        expect(request.ipAddress?.length ?? 0).toBeLessThanOrEqual(39)
        vault.as({ ...OWNER, request })
      }),
      { numRuns: 300 },
    )
    await vault.close()
  })
})

describe('options of addresses are refused with', () => {
  it.each([
    ['an address that is no address', { trustedProxies: ['10.0.0'] }, 'trustedProxies[0]'],
    ['a name of a host', { trustedProxies: ['loopback', 'proxy.acme.example'] }, 'trustedProxies[1]'],
    ['a network that is too long', { trustedProxies: ['10.0.0.0/33'] }, 'trustedProxies[0]'],
    ['a network without a length', { trustedProxies: ['10.0.0.0/'] }, 'trustedProxies[0]'],
    ['two lengths', { trustedProxies: ['10.0.0.0/8/8'] }, 'trustedProxies[0]'],
    ['a network of mapped addresses', { trustedProxies: ['::ffff:10.0.0.0/104'] }, 'trustedProxies[0]'],
    ['a port', { trustedProxies: ['10.0.0.1:80'] }, 'trustedProxies[0]'],
    ['an entry that is no text', { trustedProxies: [1] }, 'trustedProxies[0]'],
    ['a negative number', { trustedProxies: -1 }, 'trustedProxies'],
    ['half a proxy', { trustedProxies: 0.5 }, 'trustedProxies'],
    ['text in place of a list', { trustedProxies: 'loopback' }, 'trustedProxies'],
    ['true', { trustedProxies: true }, 'trustedProxies'],
    ['another header', { forwardedHeader: 'x-real-ip' }, 'forwardedHeader'],
  ])('%s', (_what, options, member) => {
    // The options of an application without types.
    expect(() => createRequestContext(options as Parameters<typeof createRequestContext>[0])).toThrow(
      `Invalid option ${member}. `,
    )
  })
})
