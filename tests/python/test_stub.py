# SPDX-License-Identifier: BSD-2-Clause
"""The type stub says what the module has: each public name, parameter, default and property, in
both directions. pybind11 writes signatures into docstrings; both sides are parsed as Python."""

import ast
import inspect
import os
import unittest

import olaf

# What Python gives every class, and pybind11 its own. __getattr__ only raises, with the names that a
# former one has now; in a stub it would allow any name.
COMMON = set(dir(object)) | {"__module__", "__dict__", "__weakref__", "_pybind11_conduit_v1_",
                             "__getattr__"}
IMPLEMENTED_BY_OBJECT = {"__init__", "__repr__"}


def parameters(arguments):
    """[(name, kind, default)] of an ast.arguments, less self."""
    result = []
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    for argument, default in zip(positional, defaults):
        if argument.arg != "self":
            result.append((argument.arg, "positional", default and ast.unparse(default)))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        result.append((argument.arg, "keyword", default and ast.unparse(default)))
    return result


def documented(function):
    """The parameters that pybind11 wrote down."""
    line = function.__doc__.splitlines()[0]
    return parameters(ast.parse(f"def {line}: ...").body[0].args)


def members(class_):
    special = {name for name in vars(class_) if name.startswith("__")}
    own = {name for name in special - COMMON if callable(vars(class_)[name])}
    return {name for name in vars(class_) if not name.startswith("_")} | own


class Stub(unittest.TestCase):
    def setUp(self):
        folder = os.path.dirname(olaf.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as file:
            self.nodes = [node for node in ast.parse(file.read()).body
                          if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign))]
        self.names = {node.target.id if isinstance(node, ast.AnnAssign) else node.name: node
                      for node in self.nodes}

    def test_names(self):
        self.assertEqual(sorted(self.names), sorted(olaf.__all__))
        public = {name for name in vars(olaf) if not name.startswith("_")} | {"__version__"}
        self.assertEqual(sorted(olaf.__all__), sorted(public))
        hidden = {name for name in vars(olaf._olaf) if not name.startswith("_")} - public
        self.assertEqual(hidden, set(), "names of the extension that the package doesn't export")

    def test_functions(self):
        functions = {name for name in self.names if inspect.isbuiltin(getattr(olaf, name))}
        self.assertTrue(functions)
        for name in functions:
            self.assertEqual(parameters(self.names[name].args), documented(getattr(olaf, name)))

    def test_classes(self):
        classes = {name for name in self.names if inspect.isclass(getattr(olaf, name))}
        self.assertEqual(classes, {name for name, node in self.names.items()
                                   if isinstance(node, ast.ClassDef)})
        for name in sorted(classes):
            with self.subTest(name):
                self.check_class(getattr(olaf, name), self.names[name])

    def check_class(self, class_, node):
        stubbed = {each.target.id if isinstance(each, ast.AnnAssign) else each.name
                   for each in node.body}
        # Without one of ours, Python's placeholder is there, and refuses.
        constructed = class_.__init__.__doc__.startswith("__init__(")
        self.assertEqual("__init__" in stubbed, constructed, "constructor")
        self.assertEqual(stubbed - IMPLEMENTED_BY_OBJECT, members(class_) - IMPLEMENTED_BY_OBJECT)
        for member in node.body:
            if isinstance(member, ast.AnnAssign):
                with self.subTest(member.target.id):
                    self.check_field(vars(class_)[member.target.id], member)
            else:
                with self.subTest(member.name):
                    self.check_member(vars(class_)[member.name], member)

    def check_field(self, actual, node):
        self.assertTrue(ast.unparse(node.annotation).startswith("Final["))
        self.assertIsInstance(actual, property)
        self.assertIsNone(actual.fset, "can be set")
        self.assertTrue(actual.__doc__, "says nothing in help()")

    def check_member(self, actual, node):
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if "property" in decorators or any(each.endswith(".setter") for each in decorators):
            self.assertIsInstance(actual, property)
            self.assertTrue(actual.__doc__, "says nothing in help()")
            if actual.fset is not None and "property" in decorators:
                setters = [each for each in ast.walk(self.names_tree())
                           if isinstance(each, ast.FunctionDef) and each.name == node.name
                           and each.decorator_list
                           and ast.unparse(each.decorator_list[0]) == f"{node.name}.setter"]
                self.assertTrue(setters, "has a setter")
            if any(each.endswith(".setter") for each in decorators):
                self.assertIsNotNone(actual.fset, "has no setter")
            return
        self.assertEqual("staticmethod" in decorators, isinstance(actual, staticmethod))
        function = actual.__func__ if isinstance(actual, staticmethod) else actual
        if not node.name.startswith("__"):
            self.assertGreater(len(function.__doc__.strip().splitlines()), 1, "no docstring")
        if node.name.startswith("__") and node.name not in ("__init__", "__call__"):
            return  # Python fixes their signature
        self.assertEqual(parameters(node.args), documented(function))

    def names_tree(self):
        return ast.Module(body=self.nodes, type_ignores=[])


if __name__ == "__main__":
    unittest.main()
