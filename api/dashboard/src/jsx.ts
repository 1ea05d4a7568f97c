// What the bundler puts in place of JSX, under names that no variable has.
export { Fragment as jsxFragment, h as jsxElement } from "preact";
