/** Finds retired words in a text of any kind: identifiers by their parts, comments, strings and prose by whole words. */
import { at } from '../../../src/core/util/lists.ts'
import { ALLOWED_WORDS, KEPT_PHRASES, RETIRED_NAMES, RETIRED_WORDS } from './retired-words.ts'

/** A retired word in a file. */
export interface RetiredWord {
  /** Number of the line, from 1. */
  readonly line: number
  /** The word, phrase or name as the list has it, without a trailing `*`, or as the text has it if the list has a `*`. */
  readonly word: string
  readonly use: string
}

/** One word of a text, in lower case, and what is between it and the word before. */
interface Word {
  readonly text: string
  readonly line: number
  readonly joins: boolean
}

/** A phrase of the list: its words, of which the last may be a prefix. */
interface Phrase {
  readonly parts: readonly string[]
  readonly isPrefix: boolean
  /** Undefined for a phrase to keep. */
  readonly use: string | undefined
  readonly in: RegExp | undefined
}

/** Letters under which the phrases with a prefix are filed. */
const FILED_LETTERS = 3

const PHRASES = byFirstWord([
  ...RETIRED_WORDS.flatMap(({ words, use, in: folder }) => words.split('|').map((phrase) => toPhrase(phrase, use, folder))),
  ...KEPT_PHRASES.map((phrase) => toPhrase(phrase)),
])

const NAME_PREFIXES = Object.entries(RETIRED_NAMES).filter(([name]) => name.endsWith('*'))

/** Returns the retired words of one file that its allowances do not cover, in the order of the text. */
export function findRetiredWords(path: string, text: string): RetiredWord[] {
  return retiredWordsIn(path, text).filter(({ word }) => allowanceFor(path, word) === undefined)
}

/** Returns a sentence for each allowance and word of it that no file needs any more. */
export function unusedAllowances(sources: ReadonlyMap<string, string>): string[] {
  const needed = new Set<string>()
  for (const [path, text] of sources) {
    for (const { word } of retiredWordsIn(path, text)) needed.add(allowanceFor(path, word) ?? '')
  }
  return ALLOWED_WORDS.flatMap((one, index) =>
    one.words
      .filter((word) => !needed.has(keyOf(index, word)))
      .map((word) => `no file of ${one.in.source} has the allowed word ${word}; take it off the list`),
  )
}

function retiredWordsIn(path: string, text: string): RetiredWord[] {
  return [...phrasesOf(path, wordsOf(text)), ...namesOf(text)].sort((a, b) => a.line - b.line)
}

/** The allowance and its word that cover a retired word of a file, as one text; undefined if none does. */
function allowanceFor(path: string, word: string): string | undefined {
  const index = ALLOWED_WORDS.findIndex((one) => one.in.test(path) && (one.words.includes('*') || one.words.includes(word)))
  const allowed = ALLOWED_WORDS[index]
  return allowed === undefined ? undefined : keyOf(index, allowed.words.includes('*') ? '*' : word)
}

function keyOf(index: number, word: string): string {
  return `${index} ${word}`
}

/** Splits a text into words. Identifiers in camel case, constants and file names give their parts. */
function wordsOf(text: string): Word[] {
  const found: Word[] = []
  let line = 1
  let end = 0
  for (const match of text.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)) {
    const between = text.slice(end, match.index)
    line += between.split('\n').length - 1
    found.push({ text: match[0].toLowerCase(), line, joins: /^([\s*/_-]*|\.)$/.test(between) })
    end = match.index + match[0].length
  }
  return found
}

function toPhrase(phrase: string, use?: string, folder?: RegExp): Phrase {
  return { parts: phrase.replace('*', '').split(' '), isPrefix: phrase.endsWith('*'), use, in: folder }
}

/** Matches the longest phrase at each word; the words of a phrase to keep match no other. */
function phrasesOf(path: string, words: readonly Word[]): RetiredWord[] {
  const found: RetiredWord[] = []
  let next = 0
  for (const [index, word] of words.entries()) {
    if (index < next) continue
    const phrase = longestAt(path, words, index)
    if (phrase === undefined) continue
    next = index + phrase.parts.length
    const name = phrase.isPrefix ? word.text : phrase.parts.join(' ')
    if (phrase.use !== undefined) found.push({ line: word.line, word: name, use: phrase.use })
  }
  return found
}

function longestAt(path: string, words: readonly Word[], index: number): Phrase | undefined {
  const first = at(words, index).text
  return [...(PHRASES.get(first) ?? []), ...(PHRASES.get(`${first.slice(0, FILED_LETTERS)}*`) ?? [])]
    .filter((phrase) => (phrase.in?.test(path) ?? true) && isAt(phrase, words, index))
    .sort((a, b) => b.parts.length - a.parts.length)[0]
}

function isAt({ parts, isPrefix }: Phrase, words: readonly Word[], index: number): boolean {
  return parts.every((part, offset) => {
    const word = words[index + offset]
    if (word === undefined || (offset > 0 && !word.joins)) return false
    return isPrefix ? word.text.startsWith(part) : word.text === part
  })
}

function byFirstWord(phrases: readonly Phrase[]): ReadonlyMap<string, readonly Phrase[]> {
  const filed = new Map<string, Phrase[]>()
  for (const phrase of phrases) {
    const first = at(phrase.parts, 0)
    const key = phrase.isPrefix ? `${first.slice(0, FILED_LETTERS)}*` : first
    filed.set(key, [...(filed.get(key) ?? []), phrase])
  }
  return filed
}

function namesOf(text: string): RetiredWord[] {
  return text.split('\n').flatMap((content, index) =>
    (content.match(/[A-Za-z_$][\w$]*/g) ?? []).flatMap((name) => {
      const use = Object.hasOwn(RETIRED_NAMES, name)
        ? RETIRED_NAMES[name]
        : NAME_PREFIXES.find(([prefix]) => name.startsWith(prefix.slice(0, -1)))?.[1]
      return use === undefined ? [] : [{ line: index + 1, word: name, use }]
    }),
  )
}
