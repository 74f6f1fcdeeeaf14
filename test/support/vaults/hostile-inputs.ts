/** Inputs that a caller may send by mistake or as an attack. The vault must reject each or treat it as plain data. */

const throwing = (): never => {
  throw new TypeError('a secret of the caller')
}

const trap: ProxyHandler<object> = {
  ownKeys: throwing,
  get: throwing,
  getPrototypeOf: throwing,
  has: throwing,
  getOwnPropertyDescriptor: throwing,
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function circle(): unknown {
  const round: unknown[] = []
  round.push({ round })
  return round
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { value }
  return value
}

class Account {
  owner = 'x'
}

/** Names and inputs, created anew by each call. */
export function hostileInputs(): readonly (readonly [name: string, input: unknown])[] {
  return [
    ['undefined', undefined],
    ['a symbol', Symbol('x')],
    ['a function', () => 'x'],
    ['a class', Account],
    ['an instance of a class', new Account()],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['minus infinity', Number.NEGATIVE_INFINITY],
    ['minus zero', -0],
    ['a fraction', 1.5],
    ['2^53', 2 ** 53],
    ['1e308', 1e308],
    ['a bigint past 64 bits', 2n ** 63n],
    ['a bigint below 64 bits', -(2n ** 63n) - 1n],
    ['a small bigint', 7n],
    ['an empty text', ''],
    ['a text of spaces', '   '],
    ['a text with a lone high surrogate', 'a\ud800'],
    ['a text with a lone low surrogate', '\udc00b'],
    ['a text with NUL', 'a\u0000b'],
    ['a megabyte of digits', '9'.repeat(1_000_000)],
    ['a megabyte of brackets', '['.repeat(1_000_000)],
    ['hexadecimal text', '0x10'],
    ['exponent text past the range', '1e999'],
    ['the text null', 'null'],
    ['a boxed text', new String('x')],
    ['a boxed number', new Number(1)],
    ['a boxed boolean', new Boolean(false)],
    ['a boxed bigint', Object(1n)],
    ['a boxed symbol', Object(Symbol('x'))],
    ['an object with toString', { toString: () => '2026-01-31' }],
    ['an object with valueOf', { valueOf: () => 1 }],
    ['an object with toPrimitive', { [Symbol.toPrimitive]: throwing }],
    ['an object with toJSON', { toJSON: throwing }],
    ['an object with a throwing getter', Object.defineProperty({}, 'a', { enumerable: true, get: throwing })],
    ['an object that says it is a date', { [Symbol.toStringTag]: 'Date', getTime: () => 0 }],
    ['an object that inherits from Date', Object.create(Date.prototype)],
    ['an invalid date', new Date(Number.NaN)],
    ['a date past year 9999', new Date(8.64e15)],
    ['a date before year 1', new Date(-8.64e15)],
    ['a proxy of a date', new Proxy(new Date(0), {})],
    ['a proxy that throws on an object', new Proxy({}, trap)],
    ['a proxy that throws on a list', new Proxy([], trap)],
    ['a revoked proxy of an object', revoked({})],
    ['a revoked proxy of a list', revoked([])],
    ['a proxy of a function', new Proxy(() => 1, {})],
    ['a list with a hole', Object.assign(new Array(3), { 0: 1, 2: 2 })],
    ['a list of undefined', [undefined]],
    ['an object with an undefined member', { a: undefined }],
    ['an object with a lone surrogate in a name', { 'a\ud800': 1 }],
    ['a list that holds itself', circle()],
    ['65 levels', nested(65)],
    ['100,000 levels', nested(100_000)],
    ['100,001 nodes', new Array(100_001).fill(0)],
    ['a map', new Map([['a', 1]])],
    ['a set', new Set([1])],
    ['bytes', new Uint8Array(3)],
    ['a regular expression', /x/],
    ['an error', new Error('x')],
    ['a promise', Promise.resolve(1)],
    [
      'a generator',
      (function* () {
        yield 1
      })(),
    ],
    [
      'Object.prototype.__proto__ as a name',
      JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
    ],
  ]
}
