// The functions that the bundler calls for JSX, under names that no variable has.
export { Fragment as jsxFragment, h as jsxElement } from "preact";
