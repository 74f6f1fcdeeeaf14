/** The address of a client behind proxies, also when the client writes the headers of proxies. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizeAddress } from '../../../src/http/router/client-address.ts'
import { type AddressOptions, createRequestContext } from '../../../src/http/router/request-context.ts'
import { requestFrom } from '../../support/credentials/http-request.ts'

const CLIENT = '203.0.113.9'

function addressOf(connection: string, forwarded: string | undefined, options: AddressOptions = {}): string | undefined {
  const name = options.forwardedHeader ?? 'x-forwarded-for'
  return createRequestContext(options)(requestFrom(connection, forwarded === undefined ? {} : { [name]: forwarded })).ipAddress
}

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:443', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1%eth0', '192.0.2.1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:65535', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:1', 'fe80::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:0db8:1111:2222:3333:4444:255.255.255.255', '2001:db8:1111:2222:3333:4444:ffff:ffff'],
  ])('%s is %s', (text, normalized) => {
    expect(normalizeAddress(text)).toBe(normalized)
  })

  it.each([
    '',
    'unknown',
    '_hidden',
    'localhost',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.01',
    '0x7f.1',
    '192.0.2.1:',
    '192.0.2.1:123456',
    '192.0.2.1 ',
    '192.0.2.1/8',
    '[2001:db8::1',
    '2001:db8::1]',
    '[]',
    '[]:1',
    ':1',
    '::1::',
    '2001:db8::1\u0000',
    '１.2.3.4',
    '1'.repeat(10_000),
  ])('%j is no address', (text) => {
    expect(normalizeAddress(text)).toBeUndefined()
  })
})

describe('the address of a client', () => {
  it.each([
    ['of the connection, without proxies', '10.0.0.1', CLIENT, {}, '10.0.0.1'],
    ['of the connection, if that is no proxy', CLIENT, '1.1.1.1', { trustedProxies: ['10.0.0.0/8'] }, CLIENT],
    ['named by the proxy', '10.0.0.1', CLIENT, { trustedProxies: ['10.0.0.0/8'] }, CLIENT],
    ['named by the last proxy in a row', '10.0.0.1', `1.1.1.1, ${CLIENT}, 10.0.0.2`, { trustedProxies: ['10.0.0.0/8'] }, CLIENT],
    ['named by a proxy on this machine', '::ffff:127.0.0.1', CLIENT, { trustedProxies: ['loopback'] }, CLIENT],
    ['named by a proxy on this machine over IPv6', '::1', CLIENT, { trustedProxies: ['loopback'] }, CLIENT],
    ['named by a proxy with IPv6', '2001:db8::7', `[2001:db8:1::1]:99`, { trustedProxies: ['2001:db8::/48'] }, '2001:db8:1::1'],
    ['named by a proxy that is given as mapped', '10.0.0.1', CLIENT, { trustedProxies: ['::ffff:10.0.0.1'] }, CLIENT],
    ['of the last known proxy, if it names none', '10.0.0.1', 'unknown', { trustedProxies: ['10.0.0.0/8'] }, '10.0.0.1'],
    [
      'of the last known proxy, if the next names none',
      '10.0.0.1',
      '1.1.1.1, x, 10.0.0.2',
      { trustedProxies: ['10.0.0.0/8'] },
      '10.0.0.2',
    ],
    ['of the proxy, if there is no header', '10.0.0.1', undefined, { trustedProxies: ['10.0.0.0/8'] }, '10.0.0.1'],
    ['of the first proxy, if all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', { trustedProxies: ['10.0.0.0/8'] }, '10.0.0.3'],
    ['behind one proxy', '192.0.2.1', `1.1.1.1, ${CLIENT}`, { trustedProxies: 1 }, CLIENT],
    ['behind two proxies', '192.0.2.1', `1.1.1.1, ${CLIENT}, 10.0.0.1`, { trustedProxies: 2 }, CLIENT],
    ['of the first entry, if there are fewer proxies', '192.0.2.1', CLIENT, { trustedProxies: 3 }, CLIENT],
    ['behind one proxy, if the connection has none', '', `1.1.1.1, ${CLIENT}`, { trustedProxies: 1 }, CLIENT],
    ['absent, if the connection has none', '', CLIENT, { trustedProxies: ['loopback'] }, undefined],
    ['absent, if the connection has another kind', '/run/app.sock', undefined, {}, undefined],
  ] as const)('is that %s', (_what, connection, forwarded, options, address) => {
    expect(addressOf(connection, forwarded, options)).toBe(address)
  })

  it.each([
    ['one pair', `for=${CLIENT}`, CLIENT],
    ['several pairs', `by=10.0.0.1;For="${CLIENT}:47011" ; proto=https`, CLIENT],
    ['IPv6', 'for="[2001:db8::1]:47011"', '2001:db8::1'],
    ['several proxies', `for=1.1.1.1, for=${CLIENT};by=10.0.0.2, for=10.0.0.2`, CLIENT],
    ['an open quote of the client', `for=1.1.1.1;x=", for=${CLIENT}`, CLIENT],
    ['a pair inside a quote', `host="x;for=1.1.1.1";for=${CLIENT}`, CLIENT],
    ['two addresses', `for=1.1.1.1;for=${CLIENT}`, '10.0.0.1'],
    ['no address', 'by=10.0.0.1', '10.0.0.1'],
    ['a hidden address', 'for=_secret', '10.0.0.1'],
    ['no pairs', CLIENT, '10.0.0.1'],
    ['an escape', `for="203.0.113.\\9"`, '10.0.0.1'],
  ])('is read from the Forwarded header with %s', (_what, forwarded, address) => {
    const options = { trustedProxies: ['10.0.0.0/8'], forwardedHeader: 'forwarded' } as const
    expect(addressOf('10.0.0.1', forwarded, options)).toBe(address)
  })

  it('is never read from the other header, which proxies pass on as the client wrote it', () => {
    const headers = { forwarded: 'for=1.1.1.1', 'x-forwarded-for': CLIENT }
    const read = (options: AddressOptions) =>
      createRequestContext({ trustedProxies: 1, ...options })(requestFrom('10.0.0.1', headers))
    expect(read({}).ipAddress).toBe(CLIENT)
    expect(read({ forwardedHeader: 'forwarded' }).ipAddress).toBe('1.1.1.1')
  })
})

/** What a client can write into a header of proxies. */
const SPOOFED = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef.:[]",;= /\\'), maxLength: 60 }),
  fc
    .array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.9', '127.0.0.1', 'unknown', '')), { maxLength: 5 })
    .map((all) => all.join(', ')),
  fc.ipV4().map((address) => `for=${address};x="`),
)
/** Networks of fast-check's addresses are not among those of the proxies. */
const ELSEWHERE = fc
  .tuple(fc.integer({ min: 11, max: 126 }), fc.nat(255), fc.nat(255), fc.nat(255))
  .map((bytes) => bytes.join('.'))

describe('a client cannot choose its address', () => {
  it.each([
    ['x-forwarded-for', (address: string) => address],
    ['forwarded', (address: string) => `for="${address}";proto=https`],
  ] as const)('by what it writes into %s', (forwardedHeader, written) => {
    fc.assert(
      fc.property(SPOOFED, ELSEWHERE, fc.nat(3), (spoofed, client, further) => {
        // Each proxy appends the address of its own client.
        const proxies = Array.from({ length: further }, (_, index) => `10.0.0.${index + 2}`)
        const header = [spoofed, ...[client, ...proxies].map(written)].join(', ')
        expect(addressOf('10.0.0.1', header, { trustedProxies: ['10.0.0.0/8'], forwardedHeader })).toBe(client)
        expect(addressOf('10.0.0.1', header, { trustedProxies: further + 1, forwardedHeader })).toBe(client)
        expect(addressOf(client, spoofed, { trustedProxies: ['10.0.0.0/8', 'loopback'], forwardedHeader })).toBe(client)
      }),
      { numRuns: 2000 },
    )
  })
})
