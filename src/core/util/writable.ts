/** The type of an object as its maker sees it: it can assign members that others only read. */

/**
 * An object whose state changes has members, and no getters, if one is made for each call or slice. V8 makes a hidden class for each object
 * literal with getters. Hidden classes live until a collection of the old generation, and so does all that the getters reach.
 */
export type Writable<T> = { -readonly [Member in keyof T]: T[Member] }
